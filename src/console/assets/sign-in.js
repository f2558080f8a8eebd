// Signing in, and what proves who one is.
import { $, fill, h, t, tell, when } from './dom.js';
import { api, enter, leave, Refused, state } from './app.js';

const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

const problem = (error) => (error instanceof Refused ? error.text : t('error.browser', { name: error.name }));

async function byPasskey() {
  const { challenge, party } = await api('sign-in/challenge', {});
  const key = await navigator.credentials.get({ publicKey: { challenge: toBytes(challenge), rpId: party, userVerification: 'required', timeout: 120000 } });
  return api('sign-in/passkey', {
    id: toText(key.rawId), clientData: toText(key.response.clientDataJSON),
    authenticatorData: toText(key.response.authenticatorData), signature: toText(key.response.signature),
  });
}

export function show(main, why) {
  const failed = h('p', { class: 'failed', role: 'alert' }, why);
  const account = h('input', { id: 'account', name: 'account', autocomplete: 'username', required: true, autocapitalize: 'none', spellcheck: 'false' });
  const password = h('input', { id: 'password', name: 'password', type: 'password', autocomplete: 'current-password', required: true });
  const passkey = h('button', { class: 'main', type: 'button' }, t('sign-in.passkey'));
  const form = h('form', { class: 'stack' },
    h('label', { for: 'account' }, t('sign-in.account')), account,
    h('label', { for: 'password' }, t('sign-in.password')), password,
    h('button', {}, t('sign-in.go')));
  const tries = (way) => async (event) => {
    event.preventDefault();
    failed.textContent = '';
    for (const button of main.querySelectorAll('button')) button.disabled = true;
    try {
      await enter(await way());
    } catch (error) {
      failed.textContent = problem(error);
      for (const button of main.querySelectorAll('button')) button.disabled = false;
    }
  };
  passkey.addEventListener('click', tries(byPasskey));
  form.addEventListener('submit', tries(() => api('sign-in/password', { account: account.value, password: password.value })));
  fill(main, h('section', { class: 'sign-in' },
    h('h1', {}, t('sign-in.title')), failed,
    window.PublicKeyCredential ? passkey : null, form,
    h('p', { class: 'quiet' }, t('sign-in.link'), ' ', h('code', {}, 'callgate console link'))));
  document.title = 'Callgate';
  (window.PublicKeyCredential ? passkey : account).focus();
}

// ---- One's own page ----

async function addPasskey(name) {
  const { challenge, party, account, handle, known } = await api('passkey/challenge', {});
  const key = await navigator.credentials.create({ publicKey: {
    challenge: toBytes(challenge), rp: { id: party, name: 'Callgate' },
    user: { id: toBytes(handle), name: account, displayName: account },
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }, { type: 'public-key', alg: -257 }],
    excludeCredentials: known.map(({ id }) => ({ type: 'public-key', id: toBytes(id) })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' }, attestation: 'none', timeout: 120000,
  } });
  await api('passkey/add', { name, clientData: toText(key.response.clientDataJSON), authenticatorData: toText(key.response.getAuthenticatorData()) });
}

async function credentials(section) {
  const again = (work, done) => async (event) => {
    event.preventDefault();
    try {
      await work();
      tell(t(done));
    } catch (error) {
      tell(problem(error), true);
    }
    credentials(section);
  };
  let have;
  try {
    have = await api('credentials');
  } catch (refused) {
    fill(section, h('p', {}, refused.text));
    return;
  }
  const name = h('input', { id: 'key-name', maxlength: 60, value: t('you.key-name') });
  const password = h('input', { id: 'new-password', type: 'password', autocomplete: 'new-password', minlength: 12, required: true });
  fill(section,
    state.session.fresh ? null : h('p', { class: 'quiet' }, t('you.stale')),
    h('h2', {}, t('you.passkeys')),
    have.passkeys.length ? h('ul', { class: 'plain' }, have.passkeys.map((key) => h('li', {}, key.name, ' · ', when(key.added), ' ',
      h('button', { onclick: again(() => api('passkey/remove', { id: key.id }), 'you.removed') }, t('you.remove'))))) : h('p', {}, t('you.no-passkey')),
    window.PublicKeyCredential ? h('form', { class: 'row', onsubmit: again(() => addPasskey(name.value), 'you.added') },
      h('label', { for: 'key-name' }, t('you.name')), name, h('button', {}, t('you.add'))) : null,
    h('h2', {}, t('you.password')),
    h('p', {}, have.password ? t('you.has-password') : t('you.no-password')),
    h('form', { class: 'row', onsubmit: again(() => api('password', { password: password.value }), 'you.password-set') },
      h('label', { for: 'new-password' }, t('you.new-password')), password, h('button', {}, t('you.set'))));
}

export const you = {
  async show(main) {
    const session = await api('session').catch(() => state.session);
    if (!session) return;
    state.session = { ...state.session, ...session };
    const section = h('section', {});
    fill(main, h('h1', {}, session.person || t('nobody', { id: session.id })),
      session.person ? null : h('p', { class: 'failed' }, t('you.unknown')),
      h('p', {}, t('you.way.' + session.way), ' ', t('you.until'), ' ', when(session.ends), '.'),
      section,
      h('h2', {}, t('you.leave')),
      h('p', {}, h('button', { onclick: async () => {
        await api('sign-out', {}).catch(() => {});
        leave();
      } }, t('you.sign-out'))));
    credentials(section);
  },
};
