import {
  ConflictError,
  DomainError,
  InvalidInputError,
  NotFoundError,
} from '../../platform/base/errors/domain-error.ts';
import { OperatorError } from '../../platform/base/errors/operator-error.ts';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { EXIT_CODES } from '../terminal/exit-codes.ts';
import { failureOf } from './exit-codes.ts';

class Behind extends OperatorError {
  constructor() {
    super('unavailable', 'The schema is behind.');
  }
}

describe('failureOf', () => {
  it.each<[string, unknown, number, string]>([
    ['a wrong value', new InvalidInputError('name: too long'), 2, 'name: too long'],
    ['an unknown id', new NotFoundError('job', 'x'), 3, "Couldn't find job x"],
    ['a state that forbids it', new ConflictError('x', 'It was sent.'), 4, 'It was sent.'],
    ['credentials that a provider refuses', new ProviderError('auth-invalid', 'No.'), 4, 'No.'],
    ['an old schema', new Behind(), 5, 'The schema is behind.'],
    ['a busy service', new DomainError('x', 'unavailable', 'Later.'), 5, 'Later.'],
    ['a provider that is away', new ProviderError('temporary', 'Later.'), 5, 'Later.'],
  ])('reports %s by its message and kind', (_, error, code, message) => {
    const failure = failureOf(error);
    expect(EXIT_CODES[failure.kind]).toBe(code);
    expect(failure.message).toBe(message);
  });

  it('reports other errors with their stack as unexpected', () => {
    const failure = failureOf(new TypeError('x is not a function'));
    expect(EXIT_CODES[failure.kind]).toBe(1);
    expect(failure.message).toContain('exit-codes.spec.ts');
  });
});
