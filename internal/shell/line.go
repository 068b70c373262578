package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// CommandLine returns the commands of a text that may be a command line or prose, such as the description of an action; none for prose.
// Why names in words what could not be read of a command line; it is empty if all of it could.
//
// A text is a command line if its first word, after assignments, is that of a program that people type, has a slash, or begins a
// substitution or a compound command; or if it has an operator such as | or && with a program behind it. A first word that is an English word
// too, such as find, is one of prose if an English word like "the" follows and no operator or option does.
func CommandLine(text string) (list []Command, why string) {
	text = strings.TrimSpace(text)
	lines := strings.ReplaceAll(text, "\r\n", "\n")
	lines = strings.ReplaceAll(lines, "\r", "\n")
	s, err := Parse(lines)
	if err != nil {
		if len(text) > MaxLength || looksLikeProgram(lines) {
			return nil, err.Error()
		}
		return nil, ""
	}
	list = s.Commands()
	if !looksLikeProgram(lines) && !slices.ContainsFunc(list, func(c Command) bool { return c.typed() && !prose(&c) }) {
		return nil, ""
	}
	if lines != text {
		why = "it has carriage returns, which programs read differently"
	}
	return list, why
}

// looksLikeProgram reports whether the first word of a text, or a part of it, is one of a shell program and not of prose.
func looksLikeProgram(text string) bool {
	words := strings.Fields(text)
	for len(words) > 0 && assignment(words[0]) {
		words = words[1:]
		if len(words) == 0 {
			return true
		}
	}
	if len(words) == 0 {
		return false
	}
	first := strings.Trim(words[0], `"'\`+"`")
	switch {
	case strings.Contains(text, "$(") || strings.Contains(text, "${") || strings.Contains(text, "`") || strings.Contains(text, "<(") || strings.Contains(text, "$'"):
		return true
	case strings.Contains(text, " | ") || strings.Contains(text, "&&") || strings.Contains(text, "||") || strings.Contains(text, "<<"):
		return true
	case first == "" || words[0][0] == '\\' || redirection.MatchString(text):
		return true
	case strings.HasPrefix(first, "/") || strings.HasPrefix(first, "./") || strings.HasPrefix(first, "../") || strings.HasPrefix(first, "~/"):
		return true
	case strings.HasPrefix(first, "$") && len(first) > 1 && (first[1] < '0' || first[1] > '9'):
		return true
	case slices.Contains([]string{"if", "for", "while", "until", "case", "{", "(", "!", "[", "[[", "function"}, first) && strings.ContainsAny(text, ";\n"):
		return true
	}
	c := Command{Name: path.Base(first)}
	for _, word := range words[1:] {
		c.Args = append(c.Args, known(word))
	}
	return c.typed() && !prose(&c)
}

// typed reports whether the program is one that people type, is given by a path, has the form of a program's name, or has an option.
func (c *Command) typed() bool {
	return programNames[c.Name] || c.Name != "" && (strings.Contains(c.Path.Text, "/") || programForm.MatchString(c.Name) ||
		slices.ContainsFunc(c.Args, func(a Word) bool { return optionForm.MatchString(a.Text) })) ||
		slices.ContainsFunc(c.Redirects, func(r Redirect) bool {
			return strings.HasPrefix(r.Target.Text, "/") || strings.HasPrefix(r.Target.Text, "~")
		})
}

var (
	programForm = regexp.MustCompile(`^[a-z][a-z0-9]*([-_][a-z0-9]+)+$`)
	redirection = regexp.MustCompile(`^[<>]+\s*[/~$.\w]*[/~$][^<>]*`)
	optionForm  = regexp.MustCompile(`^--?[a-zA-Z]`)
)

// prose reports whether the words of a command read as an English sentence.
func prose(c *Command) bool {
	if !englishPrograms[c.Name] || len(c.Args) == 0 || !englishWords[strings.ToLower(c.Args[0].Text)] {
		return false
	}
	return !slices.ContainsFunc(c.Args, func(a Word) bool { return strings.HasPrefix(a.Text, "-") })
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// englishWords follow a verb in English, and no program.
var englishWords = wordSet(`a an the all any each every our my your their his her its this that these those to for with from of on in at by and or if it them us me
	everyone everybody someone customers customer users user people new old some no both which`)

// englishPrograms are the programs whose names are verbs or nouns of English.
var englishPrograms = wordSet(`apply at cancel cat clear code column command compare convert crop cut date delete disable do down drop echo eject enable env
	exec exit export file find format free get halt head help history host import install join kill last less link locate logger look mail make man message more
	mount move mutt paste patch print reboot reset screen script send service set shutdown sort source split stop su start strings suspend tail test time top touch
	trace trap truncate type umount unlink update wait wall watch which who write yes test open scan ping go`)

// programNames are programs that people and agents type, and builtins of shells.
var programNames = wordSet(`. [ : alias apk apt apt-get aptitude arp ash at auditctl aws awk az base32 base64 basename bash batch bg blkdiscard black brew bun bunx bzip2 cargo cat cd
	certutil cfdisk chage chattr chcon chflags chgrp chmod chown chpasswd chroot chsh clang cmake cmp code column comm command composer conda cp crontab
	cryptsetup csh csrutil curl cut dash date dd deluser df diff dig direnv dirname dmesg dnf do doas docker docker-compose doctl dotnet dpkg dropdb dscl du echo eject
	emacs env eslint ethtool eval exec exit export expr fail2ban-client false fd fdisk fg fi file find firewall-cmd fish flyctl for free fsck ftp function gcc gcloud gdb gem getent
	getfacl gh git gitleaks glab go gofmt gpasswd gpg gradle grep groupadd groupdel groupmod gsutil gunzip gzip halt head helm heroku hexdump history host
	hostname hping3 htop http httpie iconv id if ifconfig init insmod install ionice iostat ip ip6tables iptables java jest jobs join journalctl jq kextload kextunload kill killall
	kubectl kustomize last launchctl ldconfig less ln local locate logger logout losetup ls lsblk lsof lua lvremove mail mailq mailx make man md5sum mdadm mkdir
	mkfifo mkfs mkfs.btrfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.fat mkfs.vfat mkfs.xfs mkswap mktemp modprobe mongo mongodump mongosh more mount msmtp mutt mv mvn mypy mysql mysqladmin mysqldump
	nano nc ncat netcat netstat newusers nft nginx nice ninja nmap node nohup npm npx nsenter nslookup ntpdate openssl osascript parted passwd paste patch perl
	pg_dump pg_dumpall pgrep php ping pip pip3 pipenv pipx pkexec pkg pkill pnpm podman poetry poweroff printenv printf ps psql pulumi pw pwd py.test pytest python python2 python3 rake
	rclone rdate read readelf readlink realpath reboot redis-cli renice restic rg rm rmdir rmmod rndc route rsync ruby ruff runuser rustc rustup scp screen script security sed
	sendmail serverless service sestatus set setcap setenforce setfacl setsid sftp sh sha1sum sha256sum shred shutdown skopeo sleep smbclient snap socat sort source spctl split sqlite3 srm ss ssh
	ssh-add ssh-copy-id ssh-keygen sshpass stat strace strings stty su sudo sudoedit supervisorctl swaks swapoff swapon sysctl systemctl systemd-run sysadminctl tail tar tcpdump tee telnet tenet terraform
	test tfsec then time timeout tofu tmux top touch tr trap tree truncate tsc tty ufw uglifyjs umask umount unalias uname uniq unlink unset unshare unxz unzip update-ca-certificates uptime
	useradd userdel usermod uv uvx vagrant vault vi vim visudo vitest w wait wall watch wc wget where whereis which while who whoami wipe wipefs write wsl xargs xattr xxd xz yarn yes yq
	yum zcat zip zsh zypper bcp bq clickhouse-client cqlsh sqlcmd influx etcdctl consul nomad eksctl kops oc rabbitmqctl kafka-topics minikube kind age sops pass op bw stripe twilio deno emacsclient nvim gvim tclsh luajit Rscript sbcl clisp erl gawk mawk nawk`)
