# Makes a random password in the volume of each secret that has none yet: the service "secrets" of docker-compose.yml.
# A container sees only the volumes that are mounted into it, hence all of its users may read them.
set -eu
umask 022
for folder in /run/secrets/*/; do
    [ ! -s "${folder}password" ] || continue
    head -c 24 /dev/urandom | base64 | tr '+/' '-_' > "${folder}new"
    mv "${folder}new" "${folder}password"
done
