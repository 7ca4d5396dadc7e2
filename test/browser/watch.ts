import type { BrowserContext } from "playwright-core";

/** Says which directive of the policy something broke. */
declare global {
  var __violated: (violation: string) => void;
}

/**
 * Watches all pages of a browser context: what must not happen in any of them. A test
 * names beforehand what it causes itself.
 */
export class Watch {
  readonly #faults: string[] = [];
  readonly #tolerated: RegExp[] = [];

  static async over(context: BrowserContext, baseUrl: string): Promise<Watch> {
    const watch = new Watch();
    const own = new URL(baseUrl).host;
    const isElsewhere = (url: string) =>
      /^(https?|wss?|ftp):/.test(url) && new URL(url).host !== own;
    await context.exposeBinding("__violated", (_source, violation: string) =>
      watch.report(`policy: ${violation}`),
    );
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) =>
        globalThis.__violated(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
      );
    });
    context.on("weberror", (error) =>
      watch.report(`error: ${error.error().stack ?? error.error().message}`),
    );
    context.on("console", (line) => {
      // The answer below says which request it was.
      const isAnswer = /^Failed to load resource: the server/.test(line.text());
      // Svelte warns when what is gone is still used.
      const isOurs = line.text().startsWith("https://svelte.dev/");
      if (isOurs || (line.type() === "error" && !isAnswer)) {
        watch.report(`console: ${line.text()}`);
      }
    });
    context.on("response", (answer) => {
      if (answer.status() < 400) return;
      const request = answer.request();
      watch.report(`${answer.status()}: ${request.method()} ${request.url()}`);
    });
    context.on("request", (request) => {
      if (isElsewhere(request.url())) watch.report(`request: ${request.url()}`);
    });
    context.on("requestfailed", (request) => {
      const reason = request.failure()?.errorText ?? "";
      // A page was left, or a player no longer wants the rest of a file.
      if (reason === "net::ERR_ABORTED") return;
      watch.report(`failed: ${request.url()} ${reason}`);
    });
    context.on("dialog", (dialog) => {
      if (dialog.type() === "beforeunload") return void dialog.accept();
      watch.report(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on("page", (page) =>
      page.on("websocket", (socket) => {
        if (isElsewhere(socket.url())) watch.report(`socket: ${socket.url()}`);
      }),
    );
    return watch;
  }

  /** Takes note of something that must not happen. */
  report(fault: string): void {
    if (!this.#tolerated.some((pattern) => pattern.test(fault))) {
      this.#faults.push(fault);
    }
  }

  /** From now on, what matches is no fault: the test causes it. */
  tolerate(...patterns: RegExp[]): void {
    this.#tolerated.push(...patterns);
  }

  /** What happened so far, and was not taken. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Takes what happened so far: a test judges it itself. */
  take(): string[] {
    return this.#faults.splice(0);
  }
}
