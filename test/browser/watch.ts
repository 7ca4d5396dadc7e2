import type { BrowserContext } from "playwright-core";

/** Reports a violation of the content security policy. */
declare global {
  var __violated: (violation: string) => void;
}

/**
 * Watches all pages of a browser context for faults such as errors and policy violations. A test
 * declares the faults that it causes itself.
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
      // The response handler below reports the request.
      const isAnswer = /^Failed to load resource: the server/.test(line.text());
      // Svelte warns when code uses something that has been destroyed.
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
      // The user left the page, or a player no longer needs the rest of a file.
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

  /** Records a fault, unless it is tolerated. */
  report(fault: string): void {
    if (!this.#tolerated.some((pattern) => pattern.test(fault))) {
      this.#faults.push(fault);
    }
  }

  /** Ignores matching faults from now on, because the test causes them. */
  tolerate(...patterns: RegExp[]): void {
    this.#tolerated.push(...patterns);
  }

  /** The faults so far, except those already taken. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Removes and returns the faults so far, for a test that checks them itself. */
  take(): string[] {
    return this.#faults.splice(0);
  }
}
