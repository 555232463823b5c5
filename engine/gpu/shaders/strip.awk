# Of a shader as glslc prints it, a list of words, all but what only debuggers read: names, the source's language and extensions.
# What `spirv-opt --strip-debug` leaves, word for word, without another package to build with. After a header of five words, the
# first word of an instruction is 0xNNNNnnnn: how many words it has, then which one it is.
function take(word, i)
{
    if (++at > 5 && left == 0) {
        for (i = 3; i <= 6; i++) left = 16 * left + index("0123456789abcdef", substr(word, i, 1)) - 1
        drop = substr(word, 7) ~ /^000[3456]$/ # OpSource, OpSourceExtension, OpName, OpMemberName
    }
    if (at > 5) left--
    if (!drop) printf "%s%s", kept++ ? kept % 8 == 1 ? ",\n" : "," : "{", word
}
{
    gsub(/[{}]/, "")
    n = split($0, words, ",")
    for (k = 1; k <= n; k++)
        if (words[k] != "") take(words[k])
}
END { print "}" }
