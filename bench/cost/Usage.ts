/** What one submission uses of what the platform bills, by object, as it was counted; and what is stored. */

export interface ObjectUsage {
  /** Calls that it was sent, and its alarms. */
  readonly requests: number
  readonly read: number
  /** Rows, with entries of indexes; alarms apart. */
  readonly written: number
  readonly alarmWrites: number
  /** While it could not be put to rest, here. */
  readonly activeMillis: number
  /** Times that something became durable. */
  readonly commits: number
}

export interface Usage {
  readonly name: string
  readonly title: string
  /** Of how many submissions this is the mean. */
  readonly submissions: number
  readonly workerRequests: number
  readonly owner: ObjectUsage
  readonly thread: ObjectUsage
}

/** Rows of a submission that does nothing, where the owner knows many threads or the thread has a long past. */
export interface Growth {
  readonly threads: number
  readonly records: number
  readonly read: number
  readonly written: number
}

/** Bytes. */
export interface Stored {
  /** A thread with one settled submission, and an owner with that thread. */
  readonly thread: number
  readonly owner: number
  /** Each more submission of a thread. */
  readonly noop: number
  readonly steps: number
  /** Each more thread in its owner. */
  readonly lane: number
}

/** What submissions that do nothing compute, with the Worker, one owner and its threads in one process. */
export interface Pace {
  readonly title: string
  /** One submission, in all of them together. */
  readonly computedMillis: number
  /** Shares of that, by samples: in the owner's own code, in the thread's, in the Worker's. */
  readonly ownerShare: number
  readonly threadShare: number
  readonly workerShare: number
}

export interface Counted {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly usages: ReadonlyArray<Usage>
  /** What a request through the Worker computes here, with what it calls: no less than the Worker's own part. */
  readonly requestMillis: number
  readonly growth: ReadonlyArray<Growth>
  readonly paces: ReadonlyArray<Pace>
  readonly stored: Stored
}
