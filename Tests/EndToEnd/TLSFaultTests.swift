import Foundation
import Support
import Testing

extension EndToEnd {
    /// Each fault beside an image that is fine, as the sources of a call and as the lines of a list.
    @Suite("TLS faults")
    struct TLSFaultTests {
        private let kf: KFCommand
        private let picture: Data
        private let certificates: TestCertificates
        private let good: FaultServer

        init() async throws {
            kf = try KFCommand()
            picture = try FixturesDirectory.named("png/rgb.png").data
            certificates = try await TestCertificates.shared
            good = try FaultServer { [bytes = [UInt8](picture)] _ in [.reply(body: bytes)] }
            try kf.home.write("empty.pem", "")
            try kf.home.write("text.pem", "text\n")
            try kf.home.write(
                "cut.pem", Data(Data(contentsOf: URL(fileURLWithPath: certificates.authority)).prefix(300)))
        }

        private func expectRefusal(
            by command: String, of bad: String, _ options: [String]? = nil, says words: String, code: Int = 2003,
            kf other: KFCommand? = nil
        ) async throws {
            // A fault in time must not be one of the good image, however slow the machine is.
            let isTimed = options?.contains("--timeout") == true
            let file = try kf.home.write("good.png", picture).path
            let options = ["--retry", "2", "--retry-delay", "1ms"] + (options ?? ["--cacert", certificates.authority])
            try await (other ?? kf).expectRefusal(
                by: command, of: bad, beside: isTimed ? file : good.url("/good.png"), options, code: code, says: words)
        }

        @Test("A TLS fault is refused beside a good image", arguments: TLSFault.all)
        func faults(fault: TLSFault) async throws { try await check(fault, by: "fetch") }

        @Test("A list goes on after a TLS fault", arguments: TLSFault.samples)
        func lists(fault: TLSFault) async throws { try await check(fault, by: "prefetch") }

        private func check(_ fault: TLSFault, by command: String) async throws {
            let server = try TLSServer(fault.server, body: picture, fault.certificate, of: certificates)
            let port = server.address.split(separator: ":").last ?? ""
            try await expectRefusal(
                by: command, of: server.url("bad.png"), fault.options,
                says: fault.says.replacingOccurrences(of: "PORT", with: port), code: fault.code)
            #expect(try server.connections() == fault.connections)
        }

        @Test("A whole image without close_notify is stored")
        func endless() async throws {
            let server = try TLSServer("endless", body: picture, of: certificates)
            let item = try await kf.run(
                "fetch", "--json", "--cacert", certificates.authority, server.url("a.png")
            ).item()
            #expect(item.status == "fetched" && item.attempts == 1, "\(item)")
        }

        @Test("A trusted host needs no valid certificate", arguments: TestCertificates.Kind.allCases)
        func trusted(kind: TestCertificates.Kind) async throws {
            let server = try TLSServer("serve", body: picture, kind, of: certificates)
            let result = try await kf.run("fetch", server.url("a.png"), "--trusted-host", "127.0.0.1", "-o", "-")
            #expect(result.standardOutput == picture, "\(result)")
        }

        @Test("A redirect is refused where its target is insecure", arguments: ["fetch", "prefetch"])
        func redirects(command: String) async throws {
            let bad = try TLSServer("serve", body: picture, .expired, of: certificates)
            let targets = [
                (good.url("/secret.png"), "redirect from https to http (127.0.0.1:\(good.port)) refused"),
                (bad.url("a.png"), "the certificate of \(bad.address.dropFirst(8)) has expired"),
            ]
            for (target, words) in targets {
                let server = try TLSServer("redirect", body: Data(target.utf8), of: certificates)
                try await expectRefusal(by: command, of: server.url("bad.png"), says: words, kf: KFCommand())
                #expect(try server.connections() == 1)
            }
            #expect(good.requests.allSatisfy { $0.path == "/good.png" })
            #expect(try bad.connections() == 1)
        }

        @Test("A tunnel that fails is refused beside a good image", arguments: TunnelFault.all, ["fetch", "prefetch"])
        func tunnels(fault: TunnelFault, command: String) async throws {
            let proxy = try FaultServer { _ in fault.steps }
            try await expectRefusal(
                by: command, of: "https://origin.test/bad.png", says: fault.says,
                kf: kf.with(["https_proxy": proxy.url("")]))
            #expect(proxy.requests.map(\.method) == Array(repeating: "CONNECT", count: fault.requests))
        }

        @Test("A remote with a bad certificate is passed over unless required")
        func remotes() async throws {
            let remote = try TLSServer("serve", .expired, of: certificates)
            let options = ["--remote", remote.url("p"), "--cacert", certificates.authority, "-o", "-"]
            let result = try await kf.run(["fetch", good.url("/a.png")] + options)
            #expect(result.status == 0 && result.standardOutput == picture, "\(result)")
            let required = try await kf.run(["fetch", good.url("/b.png"), "--remote-required"] + options)
            #expect(required.status == 3 && required.standardOutput.isEmpty, "\(required)")
            #expect(required.errors.contains("the certificate of \(remote.address.dropFirst(8)) has expired"))
        }

        @Test("A fault of the proxy's TLS names the proxy", arguments: TLSFault.ofHandshakes)
        func proxies(fault: TLSFault) async throws {
            let proxy = try TLSServer(fault.server, fault.certificate, of: certificates)
            let place = proxy.address.dropFirst(8)
            let words = fault.says.contains("PORT") ? "the certificate of the proxy \(place)" : "the proxy \(place)"
            try await expectRefusal(
                by: "fetch", of: "https://origin.test/bad.png", fault.options, says: words,
                kf: kf.with(["https_proxy": proxy.address]))
            #expect(try proxy.connections() == fault.connections)
        }
    }
}
