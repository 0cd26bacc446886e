"""The arithmetic of the benchmarks: nothing here measures anything (figures_test proves it)."""
import math
import statistics


def median(values):
    return statistics.median(values)


def percentile(values, share):
    """The smallest value that at least `share` of all do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def spread(values, digits=0):
    """The median, and from where to where; of nothing, nothing."""
    if not values:
        return ""
    text = [f"{value:,.{digits}f}" for value in (median(values), min(values), max(values))]
    return text[0] if len(values) == 1 else f"{text[0]} ({text[1]} - {text[2]})"


def per_million(seconds, overhead_s, rows):
    """CPU seconds a million messages, without what starting and stopping costs."""
    return max(0.0, seconds - overhead_s) / rows * 1e6


def ceiling(cores, *seconds_per_million):
    """Messages a second when every core works all the time."""
    return cores * 1e6 / sum(seconds_per_million) if sum(seconds_per_million) > 0 else math.inf


def is_steady(costs, last=3, fall=0.1):
    """None of the last ones is cheaper by so much than the best before them."""
    return len(costs) > last and min(costs[-last:]) > (1 - fall) * min(costs[:-last])


def ratios(above, below):
    """Of each round, so that what disturbs a round disturbs both; rounds: {round: value}. Of what is too small to be
    measured there is none."""
    return [above[number] / below[number] for number in sorted(above) if below.get(number, 0) > 0]


def ratio(above, below):
    each = ratios(above, below)
    return median(each) if each else math.nan
