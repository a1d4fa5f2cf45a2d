// The plugin agent-q-diff: what opencode's own tools are about to change in files is decided in
// Emacs, hunk by hunk. `agent-q-diff setup opencode` has put this file here, and with --remove it
// takes it away. opencode reads it when it starts.
import { spawn } from "node:child_process"

const COMMAND = [];
const TOOLS = ["edit", "write", "apply_patch"]
// A command of its shell may write a file.
const SHELL = "bash"
const IS_OFF = process.env.AGENT_Q_DIFF === "off"
const LSP_PART = "\n\nLSP errors detected"
const TIME_FOR_PROMPT = 10_000

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

/** Returns what `body` resolves to; nothing if it fails, or takes longer than `TIME_FOR_PROMPT`. */
async function inTime(body) {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, TIME_FOR_PROMPT)))
  return Promise.race([body().catch(() => {}), late]).finally(() => clearTimeout(timer))
}

export const AgentQDiff = async ({ client, directory }) => {
  // Subagents have sessions of their own. What they do is part of the turn of the session above them.
  const roots = new Map()
  const rootOf = async (id) => {
    if (!roots.has(id)) {
      const session = await inTime(async () => client.session.get({ path: { id } }))
      const parent = session?.data?.parentID
      roots.set(id, parent ? await rootOf(parent) : id)
    }
    return roots.get(id)
  }
  // The agents that opencode has for sessions; "plan" edits nothing.
  const modes = new Map()
  const of = async (name, id) => {
    const root = await rootOf(id)
    return {
      hook_event_name: name,
      session_id: root,
      ...(root === id ? {} : { agent_id: id }),
      ...(modes.get(id) === "plan" ? { permission_mode: "plan" } : {}),
      cwd: directory,
    }
  }
  const event = async (name, input, args, response) => ({
    ...(await of(name, input.sessionID)),
    tool_name: input.tool,
    tool_input: args,
    tool_response: response,
    tool_use_id: input.callID,
  })
  // What the agent has said last, so that the user's comments are answered by it.
  const lastReply = async (id) => {
    const messages = await inTime(async () => client.session.messages({ path: { id } }))
    const last = messages?.data?.findLast(({ info }) => info.role === "assistant")
    const texts = last?.parts.filter((part) => part.type === "text" && !part.synthetic)
    return texts?.map((part) => part.text).join("\n") ?? ""
  }
  // opencode does not wait for one event before the next. That a tool failed is told before the
  // turn's end, or Emacs could only say that the tool did not run. Answers would change nothing.
  let told = Promise.resolve()
  const tell = (what) => (told = told.then(async () => ask(await what)).catch(() => {}))
  const isDecided = (input) => !IS_OFF && TOOLS.includes(input.tool)
  // The calls that were allowed and have not run yet.
  const allowed = new Set()
  // The sessions whose end was told: of one that was interrupted, opencode says twice that it is idle.
  const ended = new Set()
  return {
    event: async ({ event: { type, properties } }) => {
      if (IS_OFF) return
      if (type === "session.status" && properties.status?.type === "busy") {
        ended.delete(properties.sessionID)
      }
      if (type === "session.idle" && !ended.has(properties.sessionID)) {
        const id = properties.sessionID
        ended.add(id)
        await tell(rootOf(id).then(async (root) =>
          root === id
            ? { ...(await of("session.idle", id)), last_assistant_message: await lastReply(id) }
            : of("subagent.idle", id)))
      }
      // Of a tool that fails, or that the user does not permit in opencode, nothing else tells.
      const part = type === "message.part.updated" ? properties.part : undefined
      if (part?.state?.status !== "error" || !allowed.delete(part.callID)) return
      const { error, input } = part.state
      await tell(event("tool.execute.after", part, input, { error }))
    },
    // Whatever fails here, the prompt passes.
    "chat.message": async ({ sessionID }, { message, parts }) => inTime(async () => {
      modes.set(sessionID, message.agent)
      ended.delete(sessionID)
      if (IS_OFF || (await rootOf(sessionID)) !== sessionID) return
      const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
      // `opencode run` puts quotes around a prompt with blanks.
      const prompt = texts.map((part) => part.text).join("\n").replace(/^"([^"]*)"\s*$/, "$1")
      const { context } = await ask({ ...(await of("chat.message", sessionID)), prompt })
      const last = parts.at(-1)
      if (!context || !last) return
      // Parts are in the order of their ids.
      const messageID = message.id
      parts.push({ id: `${last.id}z`, sessionID, messageID, type: "text", text: context, synthetic: true })
    }),
    "tool.execute.before": async (input, output) => {
      const isShell = !IS_OFF && input.tool === SHELL
      if (!isShell && !isDecided(input)) return
      const answer = await ask(await event("tool.execute.before", input, output.args))
      if (isShell && !answer.decision) return
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
      const told = await ask(await event("tool.execute.after", input, input.args)).then(
        (answer) => answer.output,
        (error) => `${error.message}\nRead the file before you go on, and tell the user.`,
      )
      if (told) output.output = told + (lsp < 0 ? "" : output.output.slice(lsp))
    },
  }
}
