/** The ways in which a fake thread answers its owner. */
export type Recovery = "repair" | "fail" | "hang" | "unreadable"
export type Visiting = "answer" | "fail" | "hang" | "defect"
export type Forgetting = "answer" | "hang" | "fail"
export type Turn =
  | "suspend"
  | "park"
  | "settle"
  | "hang"
  | "fail"
  | "unchanged"
  | "run"
  | "binding"
  | "unreadable"
