/** Starts the console in its page. */
import { render } from "preact"
import { App } from "./pages/App.tsx"
import { keepFocus } from "./state/Focus.ts"
import { listenToKeys } from "./state/Keys.ts"

const root = document.querySelector("#console")
if (root !== null) {
  keepFocus()
  listenToKeys()
  render(<App />, root)
}
