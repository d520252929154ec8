import CSystem

extension RawText {
    /// The words behind the program's name; bytes that are no UTF-8 are kept.
    package static var commandLine: [String] {
        var words: [String] = []
        while let word = kf_argument(Int32(words.count + 1)) { words.append(decode(word)) }
        return words
    }
}
