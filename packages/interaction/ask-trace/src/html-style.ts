/**
 * How the page looks: light or dark as the reader's system is, and in one column where there is no room for three.
 * @module @deepseek-ai/dsh-ask-trace/html-style
 */

/** The page's only style sheet. */
export const STYLE = `
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f3f5f7; --dim: #59636e; --bad: #b3261e; --doubt: #8a5a00;
  --good: #1a6e36; --mark: #ffe58a; --on-mark: #1f2328 }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #1c2128; --dim: #9198a1; --bad: #ff8f87;
  --doubt: #e3b341; --good: #6fdd8b } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2.5rem 0 0.25rem }
.dim, .where { color: var(--dim); font-size: 0.875rem }
.bad { color: var(--bad) } .doubtful { color: var(--doubt) } .good { color: var(--good) }
.timeline { display: flex; flex-wrap: wrap; gap: 0.25rem; list-style: none; padding: 0 }
.timeline li { border: 1px solid var(--line); border-radius: 0.375rem; padding: 0.125rem 0.5rem; font-size: 0.875rem }
.timeline a { color: inherit; font-weight: 600 }
details { border: 1px solid var(--line); border-radius: 0.5rem; margin: 0.5rem 0; padding: 0.5rem 0.75rem }
summary { cursor: pointer }
.layers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: 0.75rem }
.layers > section { background: var(--soft); border-radius: 0.375rem; padding: 0.5rem 0.75rem }
h3 { font-size: 1rem; margin: 0 } p { margin: 0.25rem 0 }
code { font: 0.875rem/1.4 ui-monospace, monospace; white-space: pre-wrap }
mark { background: var(--mark); color: var(--on-mark) }
`
