/// Proves to a server who asks. The files are read when the connection is made.
package struct ClientCertificate: Sendable, Equatable {
    /// In PEM or PKCS#12, by the end of its name (`.p12` and `.pfx`).
    package var file: String
    /// In PEM; nil when the file above has the key too.
    package var keyFile: String?
    /// Of the key.
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
