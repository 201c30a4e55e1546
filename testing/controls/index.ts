/** Every control. */
import type { Control } from "./Control.ts"
import { laneControls } from "./LaneControls.ts"
import { alarmControls } from "./AlarmControls.ts"
import { runControls } from "./RunControls.ts"
import { callControls } from "./CallControls.ts"
import { talkControls } from "./TalkControls.ts"
import { asideControls } from "./AsideControls.ts"
import { runningControls } from "./RunningControls.ts"
import { stateControls } from "./StateControls.ts"
import { endControls } from "./EndControls.ts"
import { policyControls } from "./PolicyControls.ts"
import { timeControls } from "./TimeControls.ts"
import { workControls } from "./WorkControls.ts"
import { storageControls } from "./StorageControls.ts"

export const controls: ReadonlyArray<Control> = [
  ...laneControls,
  ...alarmControls,
  ...runControls,
  ...callControls,
  ...talkControls,
  ...asideControls,
  ...stateControls,
  ...runningControls,
  ...endControls,
  ...timeControls,
  ...policyControls,
  ...workControls,
  ...storageControls,
]
