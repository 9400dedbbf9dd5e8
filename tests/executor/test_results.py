import json

from orth.executor.results import Result
from orth.wire.dialects import callback_item_body


def test_coordinators_are_not_told_the_job() -> None:
    told = json.loads(callback_item_body(Result(job_id=7, log_id=1, log_date_time=5, handle_code=200)))
    assert told == {"logId": 1, "logDateTime": 5, "logDateTim": 5, "handleCode": 200, "handleMsg": ""}
