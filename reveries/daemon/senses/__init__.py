"""What the mind notices around it: calendars, folders, battery, time."""
