import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ChatEventType } from "../db/contract/chat-store.js";

/** The counters of the live layer. */
export interface LiveMetrics {
  received(): void;
  sent(frames: number): void;
  succeeded(command: string): void;
  /** @param request the refused request; undefined if it could not be parsed. */
  refused(request: { action: unknown } | undefined, code: string): void;
  /** Records the duration of a write pass. */
  delivered(seconds: number): void;
  /** Counts a connection that was dropped because its client did not read the sent data. */
  dropped(): void;
  /** Counts a connection that was dropped because all connections together had too much unsent data. */
  relieved(): void;
  /** Counts a new channel event created by this process. */
  chatted(type: ChatEventType): void;
}

/** Gauges, sampled at each scrape. */
interface LiveGauges {
  /** Every open socket, by the id of its connection. */
  readonly sockets: ReadonlyMap<string, { readonly incoming: { readonly count: number } }>;
  /** Number of connections waiting to be written to. */
  readonly due: number;
  /** Number of bytes that clients have not read yet. */
  readonly unsent: number;
  readonly subscriptions: number;
  readonly pendingMarks: number;
}

/** Histogram buckets, in seconds. They range from one turn of the event loop to a flush to a crowd. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/**
 * Registers the metrics of the live layer.
 * @param known an object whose keys are all commands. Names invented by clients don't become
 * labels.
 * @param gauges returns the values at each scrape.
 */
export function liveMetrics(
  registry: Registry,
  known: object,
  gauges: () => LiveGauges,
): LiveMetrics {
  const registers = [registry];
  const frames = new Counter({
    name: "foyer_live_frames_total",
    help: "Frames of websockets, by direction.",
    labelNames: ["direction"] as const,
    registers,
  });
  const commands = new Counter({
    name: "foyer_live_commands_total",
    help: "Commands over websockets, by name and outcome.",
    labelNames: ["command", "outcome"] as const,
    registers,
  });
  const delays = new Histogram({
    name: "foyer_live_delivery_seconds",
    help: "From the first frame that became due to the last write of a pass.",
    buckets: BUCKETS,
    registers,
  });
  const dropped = new Counter({
    name: "foyer_live_slow_readers_total",
    help: "Websockets that were dropped because they did not read.",
    registers,
  });
  const relieved = new Counter({
    name: "foyer_live_memory_drops_total",
    help: "Websockets that were dropped because too much waited to be read, over all of them.",
    registers,
  });
  const chatted = new Counter({
    name: "foyer_chat_events_total",
    help: "New events of channels, by type.",
    labelNames: ["type"] as const,
    registers,
  });
  const gauge = (name: string, help: string, read: (gauges: LiveGauges) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read(gauges()));
      },
    });
  gauge("foyer_live_connections", "Open websockets.", ({ sockets }) => sockets.size);
  gauge(
    "foyer_live_queued_commands",
    "Commands that wait for an earlier one of their websocket.",
    ({ sockets }) => {
      let queued = 0;
      for (const connection of sockets.values()) queued += connection.incoming.count;
      return queued;
    },
  );
  gauge(
    "foyer_live_due_connections",
    "Websockets that something is to be written to.",
    ({ due }) => due,
  );
  gauge(
    "foyer_live_unsent_bytes",
    "Bytes of answers that wait until clients of websockets read.",
    ({ unsent }) => unsent,
  );
  gauge(
    "foyer_chat_subscriptions",
    "Subscriptions of websockets to channels.",
    ({ subscriptions }) => subscriptions,
  );
  gauge(
    "foyer_chat_marks_pending",
    "What people have marked as read and is not written to the store yet.",
    ({ pendingMarks }) => pendingMarks,
  );
  const nameOf = (action: unknown): string =>
    action === "authenticate" || (typeof action === "string" && Object.hasOwn(known, action))
      ? action
      : "other";
  return {
    received: () => frames.inc({ direction: "in" }),
    sent: (count) => frames.inc({ direction: "out" }, count),
    succeeded: (command) => commands.inc({ command, outcome: "success" }),
    refused: (request, code) => commands.inc({ command: nameOf(request?.action), outcome: code }),
    delivered: (seconds) => delays.observe(seconds),
    dropped: () => dropped.inc(),
    relieved: () => relieved.inc(),
    chatted: (type) => chatted.inc({ type: type.slice("channel.".length) }),
  };
}
