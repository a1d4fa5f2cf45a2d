// The plugin agent-q-diff: what opencode's own tools are about to change in files is decided in
// Emacs, hunk by hunk. `agent-q-diff setup opencode` has put this file here, and with --remove it
// takes it away. opencode reads it when it starts.
import { spawn } from "node:child_process"

const COMMAND = [];
const TOOLS = ["edit", "write", "apply_patch"]
const IS_OFF = process.env.AGENT_Q_DIFF === "off"
const LSP_PART = "\n\nLSP errors detected"

/** Returns what the program answers to `event`; throws an error if it does not. */
function ask(event) {
  return new Promise((resolve, reject) => {
    const refuse = (why) => reject(new Error(`agent-q-diff could not have this edit decided: ${why}`))
    const hook = spawn(COMMAND[0], COMMAND.slice(1))
    const [out, err] = [[], []]
    hook.stdout.on("data", (bytes) => out.push(bytes))
    hook.stderr.on("data", (bytes) => err.push(bytes))
    hook.on("error", (error) => refuse(error.message))
    hook.on("close", (status) => {
      const text = Buffer.concat(out).toString("utf8").trim()
      if (status !== 0) {
        return refuse(Buffer.concat(err).toString("utf8").trim() || `it ended with ${status}`)
      }
      try {
        resolve(text ? JSON.parse(text) : {})
      } catch (error) {
        refuse(error.message)
      }
    })
    // A program that is gone says why by its status.
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(event))
  })
}

export const AgentQDiff = async ({ directory }) => {
  const event = (name, input, args, response) => ({
    hook_event_name: name,
    tool_name: input.tool,
    tool_input: args,
    tool_response: response,
    tool_use_id: input.callID,
    session_id: input.sessionID,
    cwd: directory,
  })
  // opencode does not wait for one event before the next. That a tool failed is told before the
  // turn's end, or Emacs could only say that the tool did not run. Answers would change nothing.
  let told = Promise.resolve()
  const tell = (what) => (told = told.then(() => ask(what)).catch(() => {}))
  const isDecided = (input) => !IS_OFF && TOOLS.includes(input.tool)
  // The calls that were allowed and have not run yet.
  const allowed = new Set()
  return {
    event: async ({ event: { type, properties } }) => {
      if (IS_OFF) return
      if (type === "session.idle") {
        await tell({ hook_event_name: "Stop", session_id: properties.sessionID, cwd: directory })
      }
      // Of a tool that fails, or that the user does not permit in opencode, nothing else tells.
      const part = type === "message.part.updated" ? properties.part : undefined
      if (part?.state?.status !== "error" || !allowed.delete(part.callID)) return
      const { error, input } = part.state
      await tell(event("tool.execute.after", part, input, { error }))
    },
    "tool.execute.before": async (input, output) => {
      if (!isDecided(input)) return
      const answer = await ask(event("tool.execute.before", input, output.args))
      if (answer.decision !== "allow") {
        throw new Error(answer.reason ?? "agent-q-diff gave no decision. Nothing was changed.")
      }
      // opencode runs the tool with this very object.
      if (answer.input) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, answer.input)
      }
      allowed.add(input.callID)
    },
    "tool.execute.after": async (input, output) => {
      if (!isDecided(input)) return
      allowed.delete(input.callID)
      const lsp = output.output.indexOf(LSP_PART)
      const told = await ask(event("tool.execute.after", input, input.args)).then(
        (answer) => answer.output,
        (error) => `${error.message}\nRead the file before you go on, and tell the user.`,
      )
      if (told) output.output = told + (lsp < 0 ? "" : output.output.slice(lsp))
    },
  }
}
