import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

@Suite("Identities of cookie jars")
struct CookieDigestTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func digest(_ text: String?) throws -> String {
        let path = directory.path(UUID().uuidString)
        if let text { try text.write(to: path, atomically: false, encoding: .utf8) }
        return CookieDigest.of(path.path)
    }

    @Test("Every line that libcurl may read as a cookie counts")
    func content() throws {
        let (a, b) = ("h\tFALSE\t/\tFALSE\t1\ta\tx", "#HttpOnly_h\tFALSE\t/\tFALSE\t1\tb\ty")
        let known = try digest("\(a)\n\(b)\n")
        #expect(try digest("# Netscape HTTP Cookie File\n\n\(b)\n\(a)\n") == known)
        #expect(try digest("\(a)\n\(b)\n".replacingOccurrences(of: "\t1\t", with: "\t2\t")) == known)
        #expect(try digest(nil) == digest("# nothing\n"))
        // A dump of headers, a line of six fields and one of doubled tabs.
        let others = [
            "Set-Cookie: s=1", "Set-Cookie: s=2", "h\tFALSE\t/\tFALSE\t1\ta", "h\t\tFALSE\t/\tFALSE\t1\ta\tx", a, b,
        ]
        #expect(Set(try others.map { try digest($0) } + [try digest(nil)]).count == others.count + 1)
    }

    @Test("A jar that changes later keeps its identity")
    func rewritten() throws {
        let path = directory.path("jar")
        try "Set-Cookie: s=1".write(to: path, atomically: false, encoding: .utf8)
        let first = CookieDigest.of(path.path)
        try "Set-Cookie: s=2".write(to: path, atomically: false, encoding: .utf8)
        #expect(CookieDigest.of(path.path) == first)
    }
}
