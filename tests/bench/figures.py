"""The arithmetic of the benchmarks: nothing here measures anything (figures_test proves it)."""
import array
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
    """Messages per second if every core works all the time."""
    return cores * 1e6 / sum(seconds_per_million) if sum(seconds_per_million) > 0 else math.inf


def is_steady(costs, last=3, fall=0.1):
    """Whether none of the latest values is better than the best before them by so much."""
    return len(costs) > last and min(costs[-last:]) > (1 - fall) * min(costs[:-last])


def ratios(above, below):
    """Of each round, so that what disturbs a round disturbs both; rounds: {round: value}. Of what is too small to be
    measured there is none."""
    return [above[number] / below[number] for number in sorted(above) if below.get(number, 0) > 0]


def ratio(above, below):
    each = ratios(above, below)
    return median(each) if each else math.nan


class Arrivals:
    """What came: of so many rows, numbered from 1, and of so many events of a holder, whose numbers are negative."""

    def __init__(self, arrivals, rows, events=0):
        """arrivals: (moment, key, number) of each message, as they came."""
        self.moments, self.events = array.array("d"), {}
        numbers, latest = set(), {}
        self.twice = self.behind = 0
        for moment, key, number in arrivals:
            if number in numbers:
                self.twice += 1
                continue
            numbers.add(number)
            self.behind += number < latest.get(key, number)
            latest[key] = max(number, latest.get(key, number))
            if number > 0:
                self.moments.append(moment)
            else:
                self.events[number] = moment
        self.missing = rows + events - len(numbers)

    def rate(self, first, last):
        """Rows per second between these two."""
        return (last - first) / max(1e-3, self.moments[last - 1] - self.moments[first - 1])


def quick_from(took, quick_s, count, slow_ones):
    """The place of the first that is quick and begins so many in turn of which at most `slow_ones` are not; or None.
    took: what each took, inf where it has not come."""
    slow = [each >= quick_s for each in took]
    for place in range(len(slow) - count + 1):
        if not slow[place] and sum(slow[place:place + count]) <= slow_ones:
            return place
    return None
