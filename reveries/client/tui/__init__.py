"""The terminal interface: widgets that show what the mind tells and send what the owner types. No memory logic here."""
