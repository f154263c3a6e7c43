//! Tests of the proxy against real servers on the loopback.
