"""Lead readings: their classification, the calibration checks of XRF instruments, and the validity of readings."""
