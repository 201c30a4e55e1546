/** Starts the console in its page. */
import { render } from "preact"
import { App } from "./pages/App.tsx"
import { listenToKeys } from "./state/Keys.ts"

const root = document.querySelector("#console")
if (root !== null) {
  listenToKeys()
  render(<App />, root)
}
