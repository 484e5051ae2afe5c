import {
  ConflictError,
  DomainError,
  ForbiddenError,
} from '../../platform/base/errors/domain-error.ts';

/** The request has no valid credential of an operator. On console pages it leads to the sign-in. */
export class OperatorSignInRequiredError extends DomainError {
  constructor(isConsole: boolean) {
    super(
      'operator.sign-in-required',
      'unauthorized',
      isConsole
        ? 'Sign in to the console first.'
        : 'Send a token of an operator in `Authorization: Bearer`. Create one with: carillon operator token create',
    );
  }
}

/** The operator, or the operator's token, has only the role `read`. */
export class RoleMissingError extends ForbiddenError {
  constructor(name: string) {
    super(
      'operator.role-missing',
      `This needs the role operate, and ${name} has only the role read here.`,
    );
  }
}

/** The operator is disabled: no sign-in, no sign-in links, no tokens. */
export class OperatorDisabledError extends ForbiddenError {
  constructor(name: string) {
    super(
      'operator.disabled',
      `${name} is disabled. Another operator can enable ${name} in the console, or on the server: carillon operator enable ${name}`,
    );
  }
}

/** The identity provider decides this about the operator. */
export class OperatorByOidcError extends ConflictError {
  constructor(message: string) {
    super('operator.by-oidc', message);
  }
}

/** An operator tried to take the own access away, or has lost it meanwhile. */
export class OwnAccessError extends DomainError {
  constructor(name: string, isOwn: boolean) {
    super(
      'operator.own-access',
      'conflict',
      isOwn
        ? `You are ${name}. Ask another operator to do this, so that nobody is locked out. On the server, carillon operator does it.`
        : 'You may not change operators any more: somebody has just removed, disabled or restricted you.',
    );
  }
}

/** After the change, no operator with the role `operate` could sign in. */
export class LastOperatorError extends DomainError {
  /** @param left how operators with that role could sign in after the change */
  constructor(name: string, left: 'link' | 'none' | 'own') {
    super(
      'operator.last',
      'conflict',
      left === 'none'
        ? `${name} is the last operator with the role operate. Give another one this role first. On the server, carillon operator does it with --force.`
        : `${name} is the last operator with the role operate who can sign in without a link. Let another one with this role choose a password first. On the server, carillon operator does it with --force.`,
    );
  }
}

/** A form that did not come from a page of the session: another site may have sent it. */
export class ForeignFormError extends ForbiddenError {
  constructor() {
    super(
      'operator.foreign-form',
      'This form was not sent by a page of this sign-in. Go back, reload the page, and send it again.',
    );
  }
}

/** The provider sent a browser back that did not begin this sign-in, or began it too long ago. */
export class OidcVisitError extends DomainError {
  constructor() {
    super(
      'operator.oidc-visit',
      'unauthorized',
      'This sign-in was begun in another browser or more than ten minutes ago. Sign in again.',
    );
  }
}

/** The provider knows the user, but no value of the claim gives a role here. */
export class OidcRefusedError extends ForbiddenError {
  constructor(name: string) {
    super(
      'operator.oidc-refused',
      `${name} is no operator of this server: OPERATOR_OIDC_ROLES lists none of the user's values.`,
    );
  }
}
