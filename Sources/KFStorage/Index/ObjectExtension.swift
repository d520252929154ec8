/// The extension of an object's file: one to eight lower-case letters and digits. It is part of a path and may come from
/// an index that another program has written, so nothing else is an extension.
package struct ObjectExtension: Hashable, Sendable {
    package let text: String

    private static let longest = 8

    /// Nil when it is none.
    package init?(_ text: String) {
        guard 1...Self.longest ~= text.utf8.count else { return nil }
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x61...0x7a: continue
            default: return nil
            }
        }
        self.text = text
    }

    /// For bytes of an unknown kind.
    static let unknown = ObjectExtension(unchecked: "bin")

    private init(unchecked text: String) { self.text = text }
}
