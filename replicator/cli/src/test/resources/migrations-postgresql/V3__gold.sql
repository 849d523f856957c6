UPDATE customer SET tier = 'gold' WHERE email LIKE 'a%';
