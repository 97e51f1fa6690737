"""What detectors are shown is data: pytest never looks into it."""

collect_ignore = ["fixtures", "honest", "problems"]
