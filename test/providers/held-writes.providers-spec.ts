import { describeChains } from '../support/held-writes/chains.ts';
import { RealSide } from '../support/held-writes/real-side.ts';
import { describeWith } from '../support/mail-servers/installed.ts';

describeWith(
  ['dovecot', 'exim4', 'radicale'],
  'a chain of writes to one object on real servers',
  () => {
    describeChains(() => RealSide.start());
  },
);
