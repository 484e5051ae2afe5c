import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from '@mikro-orm/core';

/**
 * One entity manager of the ORM for each request, made when the request first asks for it: the hot paths never do, and
 * making one costs as much as parsing a body.
 */
export class RequestContexts {
  readonly #requests = new AsyncLocalStorage<{ em?: EntityManager }>();
  #root: EntityManager | null = null;

  /** @param root the application's own, which belongs to no request */
  forkFrom(root: EntityManager): void {
    this.#root = root;
  }

  /** Everything from `next` on belongs to one request. */
  readonly middleware = (_request: unknown, _response: unknown, next: () => void): void => {
    this.#requests.run({}, next);
  };

  /** For the ORM: the one of the present request; undefined outside requests. */
  readonly find = (): EntityManager | undefined => {
    const request = this.#requests.getStore();
    if (!request || !this.#root) return undefined;
    if (!request.em) {
      // The ORM asks again while it makes one.
      request.em = this.#root;
      request.em = this.#root.fork({ useContext: true });
    }
    return request.em;
  };
}
