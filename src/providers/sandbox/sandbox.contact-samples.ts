import type { ContactContent } from '../port/connector.ts';
import { SANDBOX_DOMAIN } from './sandbox.magic.ts';

/** A contact that a new address book starts with. */
export interface SampleContact {
  key: string;
  content: ContactContent;
  picture: Buffer | null;
}

/** One blue pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg==',
  'base64',
);

/** Three contacts: with a picture, with groups, with an address. */
export const SAMPLE_CONTACTS: readonly SampleContact[] = [
  {
    key: 'bo',
    content: {
      given_name: 'Bo',
      surname: 'Tanaka',
      company_name: 'The Usual Place',
      job_title: 'Host',
      birthday: '1988-04-05',
      emails: [{ type: 'work', email: `bo@${SANDBOX_DOMAIN}` }],
      phone_numbers: [{ type: 'mobile', number: '+1 555 0100' }],
      groups: ['Friends', 'Friends/Choir'],
    },
    picture: PICTURE,
  },
  {
    key: 'canteen',
    content: {
      company_name: 'The Canteen',
      emails: [{ type: 'work', email: `canteen@${SANDBOX_DOMAIN}` }],
      physical_addresses: [
        {
          type: 'work',
          format: 'structured',
          street_address: '1 Main Street',
          city: 'Springfield',
          state: 'IL',
          postal_code: '62701',
          country: 'US',
        },
      ],
      web_pages: [{ type: 'work', url: 'https://canteen.example.test/' }],
      notes: 'Closed on Sundays.',
    },
    picture: null,
  },
  {
    key: 'lea',
    content: {
      given_name: 'Léa',
      surname: 'Dubois',
      nickname: 'Lé',
      emails: [
        { type: 'home', email: `lea@${SANDBOX_DOMAIN}` },
        { type: 'work', email: `lea.dubois@${SANDBOX_DOMAIN}` },
      ],
      im_addresses: [{ type: null, im_address: `xmpp:lea@${SANDBOX_DOMAIN}` }],
      groups: ['Friends'],
    },
    picture: null,
  },
];
