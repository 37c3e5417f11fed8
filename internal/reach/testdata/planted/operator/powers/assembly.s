// Nothing: that it is here is enough.
