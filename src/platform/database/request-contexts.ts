import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from '@mikro-orm/core';

/**
 * One entity manager of the ORM for each request, created when the request first needs it. The hot
 * paths never do, and creating one costs as much as parsing a body.
 */
export class RequestContexts {
  readonly #requests = new AsyncLocalStorage<{ em?: EntityManager }>();
  #root: EntityManager | null = null;

  /** @param root the application's entity manager, which belongs to no request */
  forkFrom(root: EntityManager): void {
    this.#root = root;
  }

  /** Middleware: everything that `next` starts belongs to one request. */
  readonly middleware = (_request: unknown, _response: unknown, next: () => void): void => {
    this.#requests.run({}, next);
  };

  /** For the ORM: the entity manager of the current request, or `undefined` outside requests. */
  readonly find = (): EntityManager | undefined => {
    const request = this.#requests.getStore();
    if (!request || !this.#root) return undefined;
    if (!request.em) {
      // The ORM calls `find` again while it forks.
      request.em = this.#root;
      request.em = this.#root.fork({ useContext: true });
    }
    return request.em;
  };
}
