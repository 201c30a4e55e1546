/** The codes a command ends with, which scripts may rely on. */

export const ExitCode = {
  /** It did what was asked. */
  ok: 0,
  /** The deployment refused it, or some of a batch. */
  refused: 1,
  /** The command line, a file it names, or heddle.toml cannot be used. Nothing was sent. */
  usage: 2,
  /** Nothing answers at the address, or what answers cannot serve now. */
  unavailable: 3,
  /** No token, one that is not valid, or one that may not do this. */
  denied: 4,
  /** There is no such submission or thread. */
  notFound: 5,
  /** The submission that was waited for settled failed or aborted. */
  unsuccessful: 6,
  /** What was waited for did not happen in time. */
  timedOut: 7,
  /** Ended by Ctrl-C. */
  interrupted: 130,
  /** Whoever read its output went away before the end, as other commands end then in a shell. */
  unread: 141,
} as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** As `--help` tells them. */
export const exitCodesText = `Exit codes:
  0  done
  1  refused by the deployment, or failed
  2  the command line, a file or heddle.toml cannot be used
  3  not reachable, or unavailable
  4  not authenticated, or denied
  5  no such submission or thread
  6  the submission settled failed or aborted
  7  timed out
  130  ended by Ctrl-C
  141  nobody reads its output any more`
