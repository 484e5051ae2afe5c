import { ConflictError, InvalidInputError } from '../../platform/base/errors/domain-error.ts';

/** An application can have one integration per provider. */
export class IntegrationExistsError extends ConflictError {
  constructor(provider: string) {
    super(
      'integration.already-exists',
      `There is already an integration for provider ${provider}: change or delete that one`,
      { betaType: 'integration.already_exists' },
    );
  }
}

/** Settings that the provider needs are missing. */
export class IntegrationSettingsError extends InvalidInputError {
  constructor(provider: string, missing: readonly string[]) {
    const missingFields = missing.map((name) => `settings.${name}`);
    super(
      `${missingFields.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} required for ${provider}`,
      {
        missingFields,
      },
    );
  }
}
