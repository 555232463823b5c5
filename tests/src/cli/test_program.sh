#!/usr/bin/env bash
# Which tandem-COMMAND `tandem` runs, and what it hands to it. Scripts stand for these programs.
. tests/scratch.sh
mkdir "$tmp"/{bin,other,here}
cp "$program" "$tmp/bin/tandem"
for command in pull bench; do
    cat >"$tmp/other/tandem-$command" <<'E2'
#!/bin/sh
echo "run: $0 $*"
env
ls -l /proc/$$/fd | sed 's/.*\([0-9][0-9]*\) -> /descriptor \1 /'
E2
    chmod +x "$tmp/other/tandem-$command"
    cp "$tmp/other/tandem-$command" "$tmp/here"
done
run() { # PATH, variables and program...
    out=$(cd "$tmp/here" && env PATH="$1" "${@:2}" 2>&1 </dev/null)
    status=$?
}

# What lies in the folder where the user is.
usual=/usr/bin:/bin
for path in . '' ":$usual" "$usual:" "$usual::/nonexistent" ".:$usual" "../here:$usual" './' 'here'; do
    run "$path" "$tmp/bin/tandem" pull a/b
    check "PATH '$path' runs nothing of this folder" test $status = 1
    holds "PATH '$path': the line" "$out" 'tandem-pull: not there'
done
run "$usual" bash -c 'exec -a tandem "$0" pull a/b' "$tmp/bin/tandem"
holds 'called by a name without a folder' "$out" 'tandem-pull: not there'
run "$usual" bash -c 'exec -a "" "$0" pull a/b' "$tmp/bin/tandem"
holds 'called by no name' "$out" 'tandem-pull: not there'
mkdir "$tmp/other/folder" "$tmp/other/folder/tandem-pull"
run ".:/nonexistent:$tmp/other/folder:$tmp/other:$usual" "$tmp/bin/tandem" pull a/b
holds 'an absolute folder of PATH counts' "$out" "run: $tmp/other/tandem-pull a/b"

# What is inherited.
exec 7</dev/null
secrets=(OPENAI_API_KEY=1 AWS_SECRET=1 LD_PRELOAD= LD_AUDIT= SSLKEYLOGFILE=/x GCONV_PATH=/x)
needed=(HF_TOKEN=hf https_proxy=http://p no_proxy=x SSL_CERT_FILE=/c LC_TIME=C LANG=C XDG_CACHE_HOME=/x HF_ENDPOINT=http://e)
run "$tmp/other" "${secrets[@]}" "${needed[@]}" "$tmp/bin/tandem" pull a/b
for one in "${needed[@]}"; do holds "pull inherits ${one%%=*}" $'\n'"$out"$'\n' $'\n'"$one"$'\n'; done
for one in "${secrets[@]}"; do check "pull doesn't inherit ${one%%=*}" test "${out#*"${one%%=*}="}" = "$out"; done
check "pull inherits no descriptor" test "${out#*descriptor 7 }" = "$out"
run "$tmp/other:$usual" "${secrets[@]}" "$tmp/bin/tandem" bench kernels
holds 'bench is measured as tandem would run' "$out" 'OPENAI_API_KEY=1'
holds 'with the descriptors of a shell' "$out" 'descriptor 7 '
