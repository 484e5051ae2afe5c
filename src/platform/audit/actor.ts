/** Kinds of actors. `system` is Carillon itself. */
export const ACTOR_KINDS = ['operator', 'application', 'token', 'system'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** Who does something that the audit log records. */
export interface Actor {
  kind: ActorKind;
  /**
   * Id of the operator, the application or the access token. `null` for the system and for commands
   * on the machine of the server.
   */
  id: string | null;
  /** Name of the operator, client id of the application, or email address of the account. */
  name: string;
  /** Network address of the client, as `TRUST_PROXY` determines it; `null` if there is none. */
  address: string | null;
}

/** Carillon itself. */
export const SYSTEM: Actor = { kind: 'system', id: null, name: 'carillon', address: null };
