"""An authority for development and a certificate it vouches for, made with the ``openssl`` program and kept in the data
folder.

The authority is made once per folder, so that a person trusts it once. The certificate is for every host name of the
topology and for 127.0.0.1; it is made anew when a name is missing or when it ends within a month.
"""

import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

from orth.apphost.resources import LOOPBACK
from orth.apphost.topologies import DASHBOARD, Certificates, Layout, host_name
from orth.errors import CannotStart
from orth.settings import Settings

_FOLDER = "tls"
_CA_DAYS, _DAYS = "3650", "397"
_A_MONTH = str(30 * 24 * 3600)
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def development_certificates(layout: Layout, settings: Settings, folder: Path) -> Certificates:
    """The files, made where they are missing."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise CannotStart(
            "TLS needs the program openssl, which is not installed.", hint="Install it, or leave --tls out."
        )
    made = _Authority(openssl, folder / _FOLDER)
    return made.certificates(names_of(layout, settings))


def names_of(layout: Layout, settings: Settings) -> list[str]:
    """Every host name the certificate must be good for."""
    names = dict.fromkeys(("localhost",))
    if settings.apphost.suffix is not None:
        for part in layout.parts:
            names |= dict.fromkeys(host_name(settings, part.kind, number) for number in range(1, part.count + 1))
        names[f"{DASHBOARD}.{settings.apphost.suffix}"] = None
    return [*names]


class _Authority:
    """The folder with the files."""

    def __init__(self, openssl: str, folder: Path) -> None:
        self._openssl = openssl
        self._folder = folder
        self._ca, self._ca_key = folder / "ca.pem", folder / "ca-key.pem"
        self._files = Certificates(self._ca, folder / "trusted.pem", folder / "server.pem", folder / "server-key.pem")

    def certificates(self, names: Sequence[str]) -> Certificates:
        before = os.umask(0o077)
        try:
            self._folder.mkdir(exist_ok=True)
            if not (self._ca.exists() and self._ca_key.exists() and self._lasts(self._ca)):
                self._make_ca()
            if not self._is_good(names):
                self._make_certificate(names)
            self._files.trusted.write_text(self._ca.read_text() + _of_the_system())
        except OSError as error:
            raise CannotStart(f"The certificates in {self._folder} cannot be made: {error}.") from None
        finally:
            os.umask(before)
        return self._files

    def _is_good(self, names: Sequence[str]) -> bool:
        listed = self._folder / "names.json"
        known = json.loads(listed.read_text()) if listed.exists() else []
        files = self._files
        return (
            known == list(names)
            and files.key.exists()
            and files.certificate.exists()
            and self._lasts(files.certificate)
        )

    def _lasts(self, file: Path) -> bool:
        """Whether it is good for another month."""
        command = [self._openssl, "x509", "-in", str(file), "-noout", "-checkend", _A_MONTH]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603  # our own words

    def _make_ca(self) -> None:
        self._run(
            *("req", "-x509", *_KEY, "-keyout", str(self._ca_key), "-out", str(self._ca), "-days", _CA_DAYS),
            *("-subj", "/CN=Orth development CA", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        )
        (self._folder / "names.json").unlink(missing_ok=True)

    def _make_certificate(self, names: Sequence[str]) -> None:
        request, extensions = self._folder / "server.csr", self._folder / "server.ext"
        alternatives = ",".join([f"IP:{LOOPBACK}", *(f"DNS:{name}" for name in names)])
        extensions.write_text(
            f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n"
        )
        files = self._files
        self._run("req", *_KEY, "-keyout", str(files.key), "-out", str(request), "-subj", "/CN=Orth development")
        self._run(
            *("x509", "-req", "-in", str(request), "-CA", str(self._ca), "-CAkey", str(self._ca_key)),
            *("-CAcreateserial", "-days", _DAYS, "-extfile", str(extensions), "-out", str(files.certificate)),
        )
        (self._folder / "names.json").write_text(json.dumps(list(names)))
        request.unlink()
        extensions.unlink()

    def _run(self, *arguments: str) -> None:
        command = [self._openssl, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own words
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise CannotStart(f"openssl {arguments[0]} failed: {last}.")


def _of_the_system() -> str:
    """The authorities that would be trusted otherwise: jobs call other places as well."""
    file = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    try:
        return Path(file).read_text() if file else ""
    except (OSError, UnicodeDecodeError):
        return ""
