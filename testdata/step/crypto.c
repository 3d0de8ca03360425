// The hand-written assembly of libcrypto. argv[1] names what to run, all of it without. What
// libcrypto does to find an algorithm is not stepped: it takes millions of instructions.
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <string.h>

#include "skip.h"

static unsigned char in[1024], out[2048], key[64], iv[16];

static void digest(const char *name) {
  unsigned char md[EVP_MAX_MD_SIZE];
  unsigned n;
  skip_begin();
  EVP_MD_CTX *c = EVP_MD_CTX_new();
  EVP_DigestInit_ex(c, EVP_get_digestbyname(name), NULL);
  skip_end();
  EVP_DigestUpdate(c, in, sizeof in);
  EVP_DigestFinal_ex(c, md, &n);
  EVP_MD_CTX_free(c);
}

static void cipher(const char *name) {
  int n;
  skip_begin();
  EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(c, EVP_get_cipherbyname(name), NULL, NULL, NULL);
  skip_end();
  EVP_EncryptInit_ex(c, NULL, NULL, key, iv);
  EVP_EncryptUpdate(c, out, &n, in, sizeof in);
  EVP_EncryptFinal_ex(c, out + n, &n);
  EVP_CIPHER_CTX_free(c);
}

static void modexp(void) {
  skip_begin();
  BN_CTX *ctx = BN_CTX_new();
  BIGNUM *a = BN_new(), *p = BN_new(), *m = BN_new(), *r = BN_new();
  BN_set_bit(m, 511);
  BN_set_bit(m, 0);
  BN_set_word(a, 12345);
  BN_set_word(p, 0x1357);
  skip_end();
  BN_mod_exp_mont_consttime(r, a, p, m, ctx, NULL);
  BN_mod_exp(r, a, p, m, ctx);
  BN_free(a), BN_free(p), BN_free(m), BN_free(r);
  BN_CTX_free(ctx);
}

static void curve(void) {
  skip_begin();
  EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_POINT *p = EC_POINT_new(g);
  BIGNUM *k = BN_new();
  BN_set_word(k, 0x7f3);
  skip_end();
  EC_POINT_mul(g, p, k, NULL, NULL, NULL);
  BN_free(k);
  EC_POINT_free(p);
  EC_GROUP_free(g);
}

int main(int argc, char **argv) {
  static const char *digests[] = {"md5", "sha1", "sha256", "sha512", "sha3-256"};
  static const char *ciphers[] = {"aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aes-128-cbc", "aes-256-ctr", "aes-128-xts"};
  const char *want = argc > 1 ? argv[1] : "";
  memset(in, 'a', sizeof in);
  for (int i = 0; i < 64; i++) key[i] = (unsigned char)i;
  for (int i = 0; i < 5; i++)
    if (!*want || !strcmp(want, digests[i])) digest(digests[i]);
  for (int i = 0; i < 6; i++)
    if (!*want || !strcmp(want, ciphers[i])) cipher(ciphers[i]);
  if (!*want || !strcmp(want, "modexp")) modexp();
  if (!*want || !strcmp(want, "p256")) curve();
  skip_begin();  // the library's tables go at exit
  return 0;
}
