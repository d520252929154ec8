import Support
import Testing

@testable import KFNetwork

@Suite("Passwords of netrc files")
struct NetrcTests {
    private func find(
        _ text: String, host: String = "example.com", user: String? = nil
    ) throws -> Credentials? {
        let folder = try TemporaryDirectory()
        let path = try folder.write("netrc", text).path
        var files = NetrcFiles()
        return try files.credentials(in: path, of: Origin(scheme: "https", host: host, port: 443), user: user)
    }

    @Test(
        "The password of a host is found",
        arguments: [
            "machine example.com login ann password s", "MACHINE Example.COM\n  LOGIN ann\r\n\tPASSWORD s\n",
            "machine other login bob password t\nmachine example.com password s login ann",
            "machine other login bob password t\ndefault login ann password s", "default login ann password s",
            "machine example.com # machine other\nlogin ann # bob\npassword s",
            "macdef init\nmachine example.com login bob password t\n\nmachine example.com login ann password s",
            "machine example.com login \"ann\" password \"s\"",
            "machine example.com login ann password s machine example.com login bob password t",
            "machine example.com login ann\nmachine example.com password s",
        ])
    func found(text: String) throws {
        #expect(try find(text) == Credentials(user: "ann", password: "s"))
    }

    @Test(
        "The host of a file is read as URLs are",
        arguments: [
            ("127.1", "127.0.0.1"), ("0:0::1", "[::1]"), ("[::1]", "[::1]"), ("fe80::1", "[fe80::1%25eth0]"),
            ("B\u{dc}CHER.example", "xn--bcher-kva.example"),
        ])
    func spelling(word: String, host: String) throws {
        #expect(try find("machine \(word) login ann password s", host: host)?.user == "ann")
        #expect(try find("machine \(word) login ann password s", host: "other") == nil)
    }

    @Test(
        "A file without the host has no password",
        arguments: [
            "", "machine example.org login ann password s", "machine", "machine example.com account x",
            "login ann password s",
            "macdef x\nmachine example.com login ann password s", "# machine example.com login ann password s",
        ])
    func missing(text: String) throws { #expect(try find(text) == nil) }

    @Test("A part that is missing is empty")
    func parts() throws {
        #expect(try find("machine example.com login ann") == Credentials(user: "ann", password: ""))
        #expect(try find("machine example.com password s") == Credentials(user: "", password: "s"))
    }

    @Test("The password of a given user is found")
    func user() throws {
        let text = "machine example.com login bob password t\nmachine example.com login ann password s"
        #expect(try find(text, user: "ann") == Credentials(user: "ann", password: "s"))
        #expect(try find(text, user: "eve") == Credentials(user: "eve", password: ""))
    }

    @Test("Quotes have escapes, and must end")
    func quotes() throws {
        let text = "machine example.com login \"a \\\"n\\\" n\" password \"s\\\\\\n\""
        #expect(try find(text) == Credentials(user: "a \"n\" n", password: "s\\\n"))
        #expect(throws: TransferError.self) { try find("machine example.com login \"ann password s") }
    }

    @Test(
        "Hosts are compared as the resolver has them",
        arguments: [("[::1]", "::1"), ("[fe80::1%25eth0]", "FE80::1"), ("xn--bcher-kva.example", "Bücher.example")])
    func hosts(host: String, machine: String) throws {
        #expect(try find("machine \(machine) login ann password s", host: host)?.user == "ann")
    }

    @Test("A file is read again after a change")
    func changed() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("netrc", "default login ann password s").path
        let origin = Origin(scheme: "https", host: "h", port: 443)
        var files = NetrcFiles()
        #expect(try files.credentials(in: path, of: origin, user: nil)?.user == "ann")
        try folder.write("netrc", "default login robert password s")
        #expect(try files.credentials(in: path, of: origin, user: nil)?.user == "robert")
        #expect(try files.credentials(in: path + "x", of: origin, user: nil) == nil)
    }
}
