import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request, Response } from 'express';
import { principalOf } from '../auth/principal.ts';
import { clientAddress } from '../base/client-address.ts';
import { currentResponse } from '../base/large-responses.ts';
import { type Actor, SYSTEM } from './actor.ts';

/** The actor of work outside requests, such as a command. */
const actors = new AsyncLocalStorage<Actor>();
/** Actors of requests whose caller is neither an application nor an access token. */
const ofRequests = new WeakMap<Request, Actor>();

/** Runs `work` so that `currentActor` returns `actor`. For commands; requests know their caller. */
export function actingAs<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
  return actors.run(actor, work);
}

/** Sets the actor of a request, for callers that the guards of the API do not know. */
export function setRequestActor(request: Request, actor: Actor): void {
  ofRequests.set(request, actor);
}

/**
 * The actor of the running work: the operator of a command, or the operator, application or access
 * token of the current request. `SYSTEM` if there is no caller, as in recurring work.
 */
export function currentActor(): Actor {
  const acting = actors.getStore();
  if (acting) return acting;
  const request = (currentResponse() as Response | undefined)?.req;
  return (request && (ofRequests.get(request) ?? callerOf(request))) ?? SYSTEM;
}

/**
 * `currentActor()`, except for a request without credentials that changes something of an
 * application, such as a sign-in on the hosted pages. Then it is the application, at the address
 * of the user.
 */
export function currentActorFor(applicationId: string): Actor {
  const actor = currentActor();
  const request = (currentResponse() as Response | undefined)?.req;
  if (actor !== SYSTEM || !request) return actor;
  const address = clientAddress(request) || null;
  return { kind: 'application', id: applicationId, name: 'sign-in of a user', address };
}

function callerOf(request: Request): Actor | undefined {
  const caller = principalOf(request);
  if (!caller) return undefined;
  const address = clientAddress(request) || null;
  return caller.kind === 'application'
    ? { kind: 'application', id: caller.applicationId, name: caller.clientId, address }
    : { kind: 'token', id: caller.tokenId, name: caller.email, address };
}
