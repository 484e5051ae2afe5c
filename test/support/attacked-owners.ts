import { Adversary } from './adversary.ts';
import { ApiDocument } from './api-document.ts';
import { type Belongings, createBelongings, fingerprintOf } from './hostile-world.ts';
import { SendGridServer } from './sendgrid-server.ts';
import { startTestApp, type TestApp } from './test-app.ts';

/**
 * A server, three owners that have one object of every kind, and an adversary that attacks them.
 */
export interface AttackedOwners {
  server: TestApp;
  document: ApiDocument;
  /** Stand-in for the mailing service that the applications use. */
  service: SendGridServer;
  /** The owner whose objects the requests ask for. */
  own: Belongings;
  /** Owner of another account of the same application. */
  neighbour: Belongings;
  /** Owner of an account of another application. */
  stranger: Belongings;
  adversary: Adversary;
  close(): Promise<void>;
}

/** @param environment settings in addition to those of `startTestApp`, which runs no worker */
export async function startAttackedOwners(
  environment: Record<string, string> = {},
): Promise<AttackedOwners> {
  const server = await startTestApp({ ROLES: 'api', NEURAL: 'true', ...environment });
  const service = await SendGridServer.start();
  const document = await ApiDocument.of(server.url);
  const own = await createBelongings(server, service.origin);
  const neighbour = await createBelongings(server, service.origin, own.application);
  const stranger = await createBelongings(server, service.origin);
  const adversary = new Adversary(server, own, await fingerprintOf(server), [
    own,
    neighbour,
    stranger,
  ]);
  return {
    server,
    document,
    service,
    own,
    neighbour,
    stranger,
    adversary,
    async close() {
      await server.close();
      await service.stop();
    },
  };
}
