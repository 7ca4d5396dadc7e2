import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ChatEventType } from "../db/contract/chat-store.js";

/** The counters of the live layer. */
export interface LiveMetrics {
  received(): void;
  sent(frames: number): void;
  succeeded(command: string): void;
  /** @param request the request, if it could be read. */
  refused(request: { action: unknown } | undefined, code: string): void;
  /** A pass of writes ended. */
  delivered(seconds: number): void;
  /** A connection was dropped because it did not read. */
  dropped(): void;
  /** A connection was ended because too much waited for all together. */
  relieved(): void;
  /** There is a new event of a channel, made by this process. */
  chatted(type: ChatEventType): void;
}

/** The gauges, measured when they are read. */
interface LiveGauges {
  /** Every open socket, by the id of its connection. */
  readonly sockets: ReadonlyMap<string, { readonly incoming: { readonly count: number } }>;
  /** How many connections wait to be written to. */
  readonly due: number;
  /** How many bytes wait until clients read. */
  readonly unsent: number;
  readonly subscriptions: number;
  readonly pendingMarks: number;
}

/** In seconds: from one turn of the event loop to a crowd. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/**
 * Registers the metrics of the live layer.
 * @param known has all commands as its keys. Names that clients made up are no labels.
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
