import type { INestApplicationContext } from '@nestjs/common';
import { ConnectorRegistry } from '../../../src/providers/port/connector-registry.ts';
import type { Connector } from '../../../src/providers/port/connector.ts';

/** Ports with which provider writes change something. */
const PORTS = ['mailbox', 'calendar', 'contacts'] as const;
/** Methods of these ports that change something at the provider. */
const IS_WRITE = /^(?:set|create|rename|delete|save|update)[A-Z]/;

type Method = (...given: unknown[]) => unknown;

/** A provider write whose response a test holds back. */
export interface HeldWrite {
  /** Resolves when the provider has made the change. */
  made: Promise<void>;
  /** Lets the response pass. */
  release(): void;
}

/** A connector that can hold back the response to a write. */
export class HeldConnector {
  #next: { made: () => void; released: Promise<void> } | null = null;

  /** Replaces the connector of a provider in a program under test. */
  static install(app: INestApplicationContext, provider: string): HeldConnector {
    const held = new HeldConnector();
    const registry = app.get(ConnectorRegistry);
    const connector = registry.require(provider);
    const ports = PORTS.flatMap((name) => {
      const port = connector[name];
      return port ? [[name, held.#holding(port)] as const] : [];
    });
    registry.replace(withMembers<Connector>(connector, Object.fromEntries(ports)));
    return held;
  }

  /** The provider makes the next write at once; its response waits for `release`. */
  hold(): HeldWrite {
    const made = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    this.#next = { made: made.resolve, released: released.promise };
    return { made: made.promise, release: released.resolve };
  }

  #holding<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        const method = member.bind(target) as Method;
        if (!IS_WRITE.test(String(name))) return method;
        return async (...given: unknown[]) => {
          const next = this.#next;
          this.#next = null;
          const result = await method(...given);
          next?.made();
          await next?.released;
          return result;
        };
      },
    });
  }
}

/** The same object with other members. */
function withMembers<T extends object>(object: T, members: Partial<Record<string, object>>): T {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = members[String(name)] ?? Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
