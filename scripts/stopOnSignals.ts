/**
 * One AbortSignal for everything a script has started: Ctrl-C, a polite kill, or a closed terminal.
 * Asked for first, before there is anything to clean up.
 *
 * Repeats are ignored: npm passes on a signal that the terminal has sent already, and ending is
 * bounded by itself.
 */
export const stopOnSignals = (controller = new AbortController()): AbortSignal => {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => controller.abort())
  }
  return controller.signal
}

/** The exit code of a script that was told to end. */
export const stoppedExitCode = 130
