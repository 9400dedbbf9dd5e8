"""An executor inside a program that does something else: here, a small web page. ``python examples/embedded.py``."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from orth import Executor, JobContext

app = Executor("embedded", capture_stdout=False)
greeted: list[str] = []


@app.job("greet", schedule="0/10 * * * * ?")
def greet(ctx: JobContext, name: str = "world") -> str:
    """Greet somebody; the page shows who was."""
    greeted.append(f"{name} at {ctx.trigger_time:%H:%M:%S}")
    return f"greeted {name}"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = "\n".join(greeted or ["nobody yet"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(port: int = 8000) -> None:
    print(f"the executor is at {app.start()}, the page at http://127.0.0.1:{port}")
    try:
        with ThreadingHTTPServer(("127.0.0.1", port), Page) as site:
            site.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        app.stop()


if __name__ == "__main__":
    main()
