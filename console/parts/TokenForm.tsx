/** Where a token is given: at the door, and again when the one before has ended. */
import { useState } from "preact/hooks"
import { isKept, signIn } from "../state/Session.ts"

export const TokenForm = ({ verb }: { readonly verb: string }) => {
  const [pasted, setPasted] = useState("")
  const [keep, setKeep] = useState(isKept())
  const take = (event: Event) => {
    event.preventDefault()
    if (pasted.trim() !== "") signIn(pasted, keep)
  }
  return (
    <form class="token-form" onSubmit={take}>
      <label class="field">
        <span>Token</span>
        <input
          type="password"
          class="code"
          autocomplete="off"
          spellcheck={false}
          value={pasted}
          onInput={(event) => setPasted(event.currentTarget.value)}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={keep}
          onChange={(event) => setKeep(event.currentTarget.checked)}
        />
        Keep it in this tab, over a reload
      </label>
      <button type="submit" class="primary">
        {verb}
      </button>
    </form>
  )
}
