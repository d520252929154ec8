/// A certificate that authenticates the client to the server (mutual TLS). libcurl reads the files when the connection is made.
package struct ClientCertificate: Sendable, Equatable {
    /// The path of the certificate: PKCS#12 if the name ends in `.p12` or `.pfx`, else PEM.
    package var file: String
    /// The path of the key, in PEM; nil when `file` contains the key.
    package var keyFile: String?
    /// The password of the key.
    package var password: String?

    package init(file: String, keyFile: String? = nil, password: String? = nil) {
        self.file = file
        self.keyFile = keyFile
        self.password = password
    }

    var isPKCS12: Bool {
        let name = file.lowercased()
        return name.hasSuffix(".p12") || name.hasSuffix(".pfx")
    }
}
