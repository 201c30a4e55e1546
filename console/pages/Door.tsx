/** The page of who has not given a token yet. */
import { TokenForm } from "../parts/TokenForm.tsx"
import { Mark } from "../parts/Mark.tsx"

export const Door = () => (
  <main class="door" id="main" tabIndex={-1}>
    <Mark size={56} />
    <h1>Heddle</h1>
    <p>Look at the threads of this deployment, and decide what waits for somebody.</p>
    <TokenForm verb="Open" />
    <p class="hint">
      A bearer token of this deployment, as your identity provider gives it; in a clone of Heddle{" "}
      <code>npm run --silent token -- --principal me --owners '*'</code>. It stays in this tab, and
      shows you what it grants and no more.
    </p>
  </main>
)
