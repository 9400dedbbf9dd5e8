"""The forms that metrics of a coordinator have."""

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric


@dataclass(frozen=True, slots=True)
class Tally:
    """A counter as it is explained, with the values its label may have."""

    meaning: str
    label: str = ""
    values: tuple[str, ...] = ("",)


def gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value)


def gauge_by(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
