import { deliveryHeaders } from '../../../platform/webhooks/secrets/signature.ts';
import { reminderSignature } from './reminder-signature.ts';

describe('reminderSignature', () => {
  const body = Buffer.from('{"deltas":[]}');

  it('is the same for the same secret and body', () => {
    expect(reminderSignature('secret', body)).toBe(
      'd677a4f02afea108d65d45411a2d7f05aedd7c7cffe5f0411c11ebc438f282ab',
    );
    expect(reminderSignature('other', body)).not.toBe(reminderSignature('secret', body));
    expect(reminderSignature('secret', Buffer.from('{}'))).not.toBe(
      reminderSignature('secret', body),
    );
  });

  it('differs from the signature of a webhook delivery with the same body', () => {
    const delivery = deliveryHeaders({ eventId: 'x', body, at: new Date(), secret: 'secret' });
    expect(Object.values(delivery)).not.toContain(reminderSignature('secret', body));
  });
});
